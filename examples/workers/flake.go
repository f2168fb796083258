// flake.go -- ids of InfluxDB's snowflake package, whose machine id comes from `vesta lease run`.
//
//	vesta lease run --env MACHINE_ID -- ./flake 1000
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"

	"github.com/influxdata/influxdb/pkg/snowflake"
)

func main() {
	machine, err := strconv.Atoi(os.Getenv("MACHINE_ID"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "flake: MACHINE_ID is not set: start this program with vesta lease run --env MACHINE_ID")
		os.Exit(1)
	}
	count := 10
	if len(os.Args) > 1 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	ids := snowflake.New(machine) // one generator per process
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for ; count > 0; count-- {
		fmt.Fprintln(out, ids.Next())
	}
}
