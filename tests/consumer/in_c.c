/* The C API, which Julia, Rust, Go and Python also use: which head dimensions run on an L40S, and why not. */
#include <attnprobe/c_api.h>
#include <stdio.h>

int main(void) {
  if (attnprobe_abi() != ATTNPROBE_ABI) return 1;
  attnprobe_session* session = attnprobe_open(NULL);
  char* answer = attnprobe_call(
      session,
      "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"probe\", \"params\": {\"target\": \"l40s\", \"quick\": true, "
      "\"config\": {\"heads\": 12, \"seqlen\": 512, \"head_dim\": [64, 100]}}}");
  if (answer != NULL) puts(answer);
  attnprobe_free(answer);
  attnprobe_close(session);
  return answer == NULL;
}
