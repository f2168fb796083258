/* cli.h -- the commands, each a row of the table in main.c. */
#ifndef VS_CLI_H
#define VS_CLI_H

int vs_cmd_gen(int argc, char **argv);
int vs_cmd_explain(int argc, char **argv);
int vs_cmd_make(int argc, char **argv);
int vs_cmd_range(int argc, char **argv);
int vs_cmd_guess(int argc, char **argv);
int vs_cmd_fit(int argc, char **argv);
int vs_cmd_layout(int argc, char **argv);
int vs_cmd_check(int argc, char **argv);
int vs_cmd_policy(int argc, char **argv);
int vs_cmd_bench(int argc, char **argv);
int vs_cmd_audit(int argc, char **argv);
int vs_cmd_doctor(int argc, char **argv);
int vs_cmd_store(int argc, char **argv);
int vs_cmd_workers(int argc, char **argv);

#endif
