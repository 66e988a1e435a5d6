//! Constants next to integers of 128 and 256 bits, and constants of these types next to other numbers.

use basalt_base::SqlType;
use basalt_base::types::{Place, Wide, WideNumber};
use datafusion::common::ScalarValue;

use super::Fitted;
use super::number::{self, Quantity};

/// A number among the values of a wide integer type.
pub(super) fn fit(quantity: Quantity, wide: Wide) -> Fitted {
    let place = match quantity {
        Quantity::Whole(number) => Place::At(WideNumber::from(number), false),
        Quantity::Float(number) => match Place::of_float(number) {
            Some(place) => place,
            None => return Fitted::Unordered,
        },
        Quantity::Decimal(unscaled, scale) => Place::of_decimal(unscaled, scale),
    };
    fit_place(place, wide)
}

fn fit_place(place: Place, wide: Wide) -> Fitted {
    let (least, most) = wide.limits();
    match place {
        Place::Below => Fitted::Beyond(false),
        Place::Above => Fitted::Beyond(true),
        Place::At(number, _) if number < least => Fitted::Beyond(false),
        Place::At(number, true) if number >= most => Fitted::Beyond(true),
        Place::At(number, _) if number > most => Fitted::Beyond(true),
        Place::At(number, true) => Fitted::Above(literal(number, wide)),
        Place::At(number, false) => Fitted::Exact(literal(number, wide)),
    }
}

/// A wide constant among the values of `to`; `None` if that is no number, or they do not compare by exact numbers.
pub(super) fn fit_constant(value: &ScalarValue, from: Wide, to: &SqlType) -> Option<Fitted> {
    let ScalarValue::FixedSizeBinary(_, Some(bytes)) = value else { return None };
    let number = from.decode(bytes);
    if let Some(wide) = to.wide() {
        return Some(fit_place(Place::At(number, false), wide));
    }
    if !(to.is_number() || to.enum_number().is_some()) {
        return None;
    }
    match number.to_i128() {
        Some(narrow) => number::fit(Quantity::Whole(narrow), to),
        None if to.is_integer() || *to == SqlType::Bool || to.enum_number().is_some() => {
            Some(Fitted::Beyond(!number.is_negative()))
        }
        None => None,
    }
}

/// Whether a constant of the type is placed among wide integers as a number.
pub(super) fn meets(from: &SqlType) -> bool {
    from.is_number() || from.enum_number().is_some()
}

fn literal(number: WideNumber, wide: Wide) -> ScalarValue {
    ScalarValue::FixedSizeBinary(wide.bytes() as i32, Some(wide.encoded(number.bits())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_lie_among_wide_integers() {
        let at = |number: i128| literal(WideNumber::from(number), Wide::Int128);
        assert_eq!(fit(Quantity::Whole(-5), Wide::Int128), Fitted::Exact(at(-5)));
        assert_eq!(fit(Quantity::Float(1.5), Wide::Int128), Fitted::Above(at(1)));
        assert_eq!(fit(Quantity::Float(-1.5), Wide::Int128), Fitted::Above(at(-2)));
        assert_eq!(fit(Quantity::Float(1e39), Wide::Int128), Fitted::Beyond(true));
        assert_eq!(fit(Quantity::Whole(-1), Wide::UInt256), Fitted::Beyond(false));
        assert_eq!(fit(Quantity::Float(-0.5), Wide::UInt256), Fitted::Beyond(false));
        assert_eq!(fit(Quantity::Float(f64::NAN), Wide::UInt256), Fitted::Unordered);
        let three = at(3);
        let found = fit_constant(&three, Wide::Int128, &SqlType::UInt8);
        assert_eq!(found, Some(Fitted::Exact(ScalarValue::UInt8(Some(3)))));
        assert_eq!(fit_constant(&at(300), Wide::Int128, &SqlType::UInt8), Some(Fitted::Beyond(true)));
    }
}
