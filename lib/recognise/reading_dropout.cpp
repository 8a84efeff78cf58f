// Reads dropout from the operations of add_dropout() (flash_parts.hpp).
#include <cmath>

#include "recognise/reading.hpp"

namespace attnprobe::recognise {

using attention::DropoutForm;
using attention::SeedForm;

double complement(double keep) {
  const double probability = 1.0 - keep;
  constexpr double digits = 1e6;
  const double rounded = std::round(probability * digits) / digits;
  return 1.0 - rounded == keep ? rounded : probability;
}

attention::Dropout drawn_dropout(double probability, const graph::Tensor* seed, bool dump) {
  attention::Dropout dropout;
  dropout.probability = probability;
  dropout.dump = dump;
  if (seed == nullptr)
    dropout.seed = SeedForm::constant;
  else if (seed->by_value)
    dropout.seed = SeedForm::by_value;
  else
    dropout.seed = seed->data_type == DataType::i32 ? SeedForm::i32 : SeedForm::i64;
  return dropout;
}

void read_dropout(Reading& reading, const GraphView& view, const std::vector<const graph::Operation*>& steps) {
  for (const graph::Operation* step : steps) {
    const auto* op = pointwise_of(step, graph::PointwiseMode::MUL);
    if (op == nullptr) continue;
    if (const auto* rng = view.producer_as<graph::Rng>(op->b)) {
      const graph::Tensor* mask = view.find(rng->y);
      reading.spec.dropout =
          drawn_dropout(complement(rng->probability.value_or(1.0)), view.find(rng->seed), mask && !mask->is_virtual);
    } else if (view.is_input(op->b) && !view.is_one_element(op->b)) {
      constexpr double usual = 0.1;
      attention::Dropout dropout;
      dropout.probability = usual;
      dropout.form = DropoutForm::mask;
      reading.spec.dropout = dropout;
      reading.assumed.emplace_back("dropout: your own mask does not determine the probability; 0.1 is assumed");
    }
  }
}

}  // namespace attnprobe::recognise
