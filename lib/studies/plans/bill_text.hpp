// A bill as text and as JSON.
#pragma once

#include <string>

#include "studies/plans/bill.hpp"

namespace attnprobe::plans {

/// For a screen of 80 columns: the bill, its kernels, and the savings from rounding lengths up.
std::string bill_text(const WorkloadBill& bill);

/// A line for the kernels, and one for the cheapest padding if lengths vary.
std::string short_bill_text(const WorkloadBill& bill);

Json bill_json(const WorkloadBill& bill);
/// Schema "attnprobe/plans/1".
Json bills_json(const std::vector<WorkloadBill>& bills);

}  // namespace attnprobe::plans
