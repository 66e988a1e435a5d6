//! Selects the rule for a pair of types.

use basalt_base::{Result, SqlType};
use datafusion::common::ScalarValue;

use super::number::Quantity;
use super::{Fitted, number, text, time, wide};
use crate::PlannerContext;
use crate::bound_expr::BoundExpr;

/// The first bytes of an IPv4-mapped IPv6 address.
const MAPPED_IPV4: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// The position of the constant among the values of `ty`. `None` if it is not a constant or is NULL, or if the two
/// types compare in a third one.
pub(in crate::expr) fn fit(
    constant: &BoundExpr,
    ty: &SqlType,
    ctx: &PlannerContext<'_>,
) -> Result<Option<Fitted>> {
    let (Some(value), to) = (constant.constant(), ty.stripped()) else {
        return Ok(None);
    };
    let from = constant.ty.stripped();
    if value.is_null() || *from == SqlType::Nothing {
        return Ok(None);
    }
    if from.is_string() {
        return text::fit(value, from, to, ctx);
    }
    if from.is_date_or_time() && to.is_date_or_time() {
        return time::fit(value, from, to, ctx.functions.zone);
    }
    if let Some(from) = from.wide() {
        return Ok(wide::fit_constant(value, from, to));
    }
    if let Some(to) = to.wide() {
        let quantity = if wide::meets(from) { Quantity::of_value(value, from) } else { None };
        return Ok(quantity.map(|quantity| wide::fit(quantity, to)));
    }
    if let Some(quantity) = Quantity::of(value, from, to) {
        return Ok(number::fit(quantity, to));
    }
    Ok(match (from, to) {
        (from, to) if from == to => Some(Fitted::Exact(value.clone())),
        (SqlType::Ipv4, SqlType::Ipv6) => ipv6_of(value).map(Fitted::Exact),
        (SqlType::Ipv6, SqlType::Ipv4) => ipv4_of(value),
        _ => None,
    })
}

fn ipv6_of(value: &ScalarValue) -> Option<ScalarValue> {
    let ScalarValue::UInt32(Some(address)) = value else { return None };
    let bytes = MAPPED_IPV4.iter().copied().chain(address.to_be_bytes()).collect();
    Some(ScalarValue::FixedSizeBinary(16, Some(bytes)))
}

/// Next to an IPv6 address, an IPv4 address is its IPv4-mapped address.
fn ipv4_of(value: &ScalarValue) -> Option<Fitted> {
    let ScalarValue::FixedSizeBinary(_, Some(bytes)) = value else { return None };
    let (block, last) = bytes.split_at_checked(MAPPED_IPV4.len())?;
    Some(match block.cmp(&MAPPED_IPV4) {
        std::cmp::Ordering::Equal => {
            Fitted::Exact(ScalarValue::UInt32(Some(u32::from_be_bytes(last.try_into().ok()?))))
        }
        order => Fitted::Beyond(order.is_gt()),
    })
}
