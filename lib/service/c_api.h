/* attnprobe in C, for every language that can call it: JSON-RPC 2.0 requests in, answers out. Methods, parameters and results:
 * docs/api.md. The library is libattnprobe.so; cuDNN is never loaded into the calling process, but by workers, processes of the
 * program attnprobe. No exception crosses this border, and no thread of the library's outlives a call. */
#ifndef ATTNPROBE_C_API_H
#define ATTNPROBE_C_API_H

#if defined(ATTNPROBE_BUILDS_C_API)
#define ATTNPROBE_API __attribute__((visibility("default")))
#else
#define ATTNPROBE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Counts up when a function changes its meaning or goes away; new functions leave it as it is. */
#define ATTNPROBE_ABI 1

/* The ATTNPROBE_ABI of the library that is loaded. */
ATTNPROBE_API int attnprobe_abi(void);

/* "0.1.0". Never freed. */
ATTNPROBE_API const char* attnprobe_version(void);

/* Keeps its workers between calls. */
typedef struct attnprobe_session attnprobe_session;

/* program: the path of the program attnprobe, or NULL: ATTNPROBE_PROGRAM, else beside this library, in ../bin or ../../bin of it, or on
 * PATH. Looked for when it is needed. NULL where there is no memory. */
ATTNPROBE_API attnprobe_session* attnprobe_open(const char* program);

/* The answer to one request, both UTF-8, without a line break at the end; freed by attnprobe_free(). "" for a notification. What goes wrong is an
 * answer with "error". From any thread, several calls at a time. NULL where there is no memory, or an argument is NULL. */
ATTNPROBE_API char* attnprobe_call(attnprobe_session* session, const char* request);

/* Of attnprobe_call(); NULL is allowed. */
ATTNPROBE_API void attnprobe_free(char* answer);

/* Ends the workers. No call may be under way; NULL is allowed. */
ATTNPROBE_API void attnprobe_close(attnprobe_session* session);

#ifdef __cplusplus
}
#endif

#endif
