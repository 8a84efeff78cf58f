// Converts attnprobe's enums to cuDNN's.
#pragma once

#include <cudnn_graph.h>

#include "base/data_type.hpp"
#include "graph/modes.hpp"

namespace attnprobe::cudnn {

cudnnDataType_t cudnn_value(DataType type);
cudnnPointwiseMode_t cudnn_value(graph::PointwiseMode mode);
cudnnReduceTensorOp_t cudnn_value(graph::ReductionOperator op);
cudnnBackendTensorReordering_t cudnn_value(graph::Reordering reordering);
cudnnRngDistribution_t cudnn_value(graph::RngDistribution distribution);

}  // namespace attnprobe::cudnn
