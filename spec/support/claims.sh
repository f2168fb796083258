# claims.sh -- the harness of specs in shell: source it, make claims, and end with claims_end.  Sets $dir, a temporary
# folder that is removed at the end.  Knows nothing of the tested program.

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
claims_passed=0 claims_failed=0

# claim TEXT COMMAND...: the claim holds if the command succeeds.  Otherwise its output is shown.
claim() {
    claim_text=$1
    shift
    if "$@" >"$dir/claim" 2>&1; then
        claims_passed=$((claims_passed + 1))
        echo "ok - $claim_text"
    else
        claims_failed=$((claims_failed + 1))
        echo "not ok - $claim_text"
        sed 's/^/    /' "$dir/claim"
    fi
}

claims_end() {
    echo "$claims_passed passed, $claims_failed failed"
    [ $claims_failed -eq 0 ] && [ $claims_passed -gt 0 ]
}
