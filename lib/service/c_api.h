/* attnprobe in C, for every language that can call C: JSON-RPC 2.0 requests in, answers out. docs/api.md lists the methods, their
 * parameters and results. The library is libattnprobe.so. Only workers, which are processes of the program attnprobe, load cuDNN.
 * No function throws, and no thread of the library outlives a call. */
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

/* Increases when a function changes its meaning or is removed, not when one is added. */
#define ATTNPROBE_ABI 1

/* The ATTNPROBE_ABI of the loaded library. */
ATTNPROBE_API int attnprobe_abi(void);

/* "0.1.0". Do not free it. */
ATTNPROBE_API const char* attnprobe_version(void);

/* Keeps its workers between calls. */
typedef struct attnprobe_session attnprobe_session;

/* program: the path of the program attnprobe. NULL: ATTNPROBE_PROGRAM, else next to this library, in its ../bin or ../../bin, or on PATH.
 * The program is looked up when it is needed. Returns NULL if memory runs out. */
ATTNPROBE_API attnprobe_session* attnprobe_open(const char* program);

/* The answer to one request, both UTF-8, without a line break at the end. Free it with attnprobe_free(). "" for a notification. An error is an
 * answer with "error". Thread-safe. Returns NULL if memory runs out or an argument is NULL. */
ATTNPROBE_API char* attnprobe_call(attnprobe_session* session, const char* request);

/* Frees an answer of attnprobe_call(); NULL is allowed. */
ATTNPROBE_API void attnprobe_free(char* answer);

/* Ends the workers and frees the session. No call may be running; NULL is allowed. */
ATTNPROBE_API void attnprobe_close(attnprobe_session* session);

#ifdef __cplusplus
}
#endif

#endif
