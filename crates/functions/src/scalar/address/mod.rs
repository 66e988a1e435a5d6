//! Functions of network addresses: text, ranges of prefixes, IPv4 as IPv6.

mod cut;
mod operands;
mod range;
mod text;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &text::IPV4_NUM_TO_STRING,
    &text::IPV4_NUM_TO_STRING_CLASS_C,
    &text::IPV4_STRING_TO_NUM,
    &text::IPV4_STRING_TO_NUM_OR_NULL,
    &text::IPV4_STRING_TO_NUM_OR_DEFAULT,
    &text::IPV6_NUM_TO_STRING,
    &text::IPV6_STRING_TO_NUM,
    &text::IPV6_STRING_TO_NUM_OR_NULL,
    &text::IPV6_STRING_TO_NUM_OR_DEFAULT,
    &text::IS_IPV4_STRING,
    &text::IS_IPV6_STRING,
    &cut::CUT_IPV6,
    &cut::IPV4_TO_IPV6,
    &range::IPV4_CIDR_TO_RANGE,
    &range::IPV6_CIDR_TO_RANGE,
    &range::IS_IP_ADDRESS_IN_RANGE,
];
