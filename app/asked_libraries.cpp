#include "asked_libraries.hpp"

#include "ask.hpp"
#include "ask/walk_cache.hpp"
#include "bring_cudnn.hpp"

namespace attnprobe::app {

AskedLibraries ask_libraries(const std::vector<std::string>& words, const std::vector<gpu::Target>& targets,
                             const AskedHow& how, const asking::PlanOptions& options, asking::Session& session) {
  const std::vector<std::string> chosen = words.empty() ? std::vector<std::string>{""} : words;
  require_cudnn({chosen, options.frameworks, how.fetch, false});
  AskedLibraries asked;
  if (!how.no_cache) asked.cache = asking::usual_cache(warn);
  // The worker that identifies a cuDNN is reused for the questions.
  asked.pool = std::make_unique<worker::Pool>(2 * asking::jobs_of(options));
  session.cache = asked.cache.get();
  session.pool = asked.pool.get();
  session.on_problem = warn;
  asked.libraries = asking::choose_libraries(chosen, targets, options, session);
  return asked;
}

}  // namespace attnprobe::app
