#include "asked_libraries.hpp"

#include "ask.hpp"
#include "bring_cudnn.hpp"
#include "campaign/walk_cache.hpp"

namespace attnprobe::app {

AskedLibraries ask_libraries(const std::vector<std::string>& words, const std::vector<gpu::Target>& targets,
                             const AskedHow& how, const campaign::PlanOptions& campaign, campaign::Session& session) {
  const std::vector<std::string> chosen = words.empty() ? std::vector<std::string>{""} : words;
  require_cudnn({chosen, campaign.frameworks, how.fetch, false});
  AskedLibraries asked;
  if (!how.no_cache) asked.cache = campaign::usual_cache(warn);
  // The worker that identifies a cuDNN continues with the questions.
  asked.pool = std::make_unique<worker::Pool>(2 * campaign::jobs_of(campaign));
  session.cache = asked.cache.get();
  session.pool = asked.pool.get();
  session.on_problem = warn;
  asked.libraries = campaign::choose_libraries(chosen, targets, campaign, session);
  return asked;
}

}  // namespace attnprobe::app
