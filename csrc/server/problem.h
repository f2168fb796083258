/* problem.h -- names of error codes. */
#ifndef VS_SERVER_PROBLEM_H
#define VS_SERVER_PROBLEM_H

/* Returns the name of a code: "ok" for 0, the name of an error for higher codes, or NULL after the last. */
const char *vs_code_name(int code);
int vs_code_named(const char *name); /* name must exist */
/* Returns the name of the error code to report for a request that could not be parsed and is answered with HTTP status
 * `status`. */
const char *vs_code_of_status(int status);

#endif
