/* problem.h -- the table of failures: their names. */
#ifndef VS_SERVER_PROBLEM_H
#define VS_SERVER_PROBLEM_H

/* The name of a request's code: "ok" for 0, then the failures'; NULL behind the last. */
const char *vs_code_name(int code);
int vs_code_named(const char *name); /* which there is */
/* The failure that a request has which could not be read and is answered with that HTTP status. */
const char *vs_code_of_status(int status);

#endif
