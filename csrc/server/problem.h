/* problem.h -- the names of the table of errors. */
#ifndef VS_SERVER_PROBLEM_H
#define VS_SERVER_PROBLEM_H

/* Returns the name of a request's code: "ok" for 0, then the names of the errors, and NULL after the last. */
const char *vs_code_name(int code);
int vs_code_named(const char *name); /* the name must exist */
/* Returns the code of the HTTP status for a request that could not be parsed. */
const char *vs_code_of_status(int status);

#endif
