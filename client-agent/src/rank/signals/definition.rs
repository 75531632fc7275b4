//! The chunk defines an identifier that the question names.

use std::collections::HashMap;

use sextant_proto::chunk::ItemType;

use crate::lexical::Name;
use crate::rank::asked::Asked;

/// A name in another case.
const OTHER_CASE: f32 = 0.6;
/// A definition inside another one.
const NESTED: f32 = 0.4;

/// 0 to 1: the best of the chunk's definitions of the question's identifiers. A name that many chunks define says less.
pub(in crate::rank) fn definition(asked: &Asked, definers: &HashMap<String, u64>, names: &[Name]) -> f32 {
    let mut best = 0f32;
    for identifier in &asked.identifiers {
        let lower = identifier.to_lowercase();
        let count = definers.get(&lower).copied().unwrap_or_default().max(1) as f32;
        for name in names.iter().filter(|name| name.name.to_lowercase() == lower) {
            let case = if name.name == *identifier { 1.0 } else { OTHER_CASE };
            let nested = if name.nested { NESTED } else { 1.0 };
            best = best.max(case * nested * kind(name.item) / count.sqrt().sqrt());
        }
    }
    best
}

fn kind(item: u8) -> f32 {
    match ItemType::from_byte(item) {
        ItemType::Class | ItemType::Interface | ItemType::Enum => 1.0,
        ItemType::Function | ItemType::Method => 0.8,
        _ => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str, item: ItemType, nested: bool) -> Name {
        Name { name: name.into(), item: item as u8, nested }
    }

    #[test]
    fn exact_types_stand_first_and_crowds_weigh_less() {
        let asked = Asked::new("Router");
        let one = HashMap::from([("router".to_owned(), 1)]);
        let of = |name: Name, definers: &HashMap<_, _>| definition(&asked, definers, &[name]);
        let class = of(name("Router", ItemType::Class, false), &one);
        assert!((class - 1.0).abs() < 1e-6);
        assert!((of(name("router", ItemType::Function, false), &one) - 0.48).abs() < 1e-6);
        assert!((of(name("Router", ItemType::Field, true), &one) - 0.2).abs() < 1e-6);
        let crowd = HashMap::from([("router".to_owned(), 16)]);
        assert!((of(name("Router", ItemType::Class, false), &crowd) - 0.5).abs() < 1e-6);
        assert!(of(name("Routers", ItemType::Class, false), &one).abs() < 1e-6);
    }
}
