//! `system.settings_profiles` and `system.settings_profile_elements`.

use std::sync::Arc;

use arrow::array::Int8Array;
use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_sql::ast::{Literal, ProfileElement, SettingConstraint};

use super::access::{apply_to, entity_uuid, storage};
use super::block::{self, BlockBuilder};
use crate::execution::Execution;
use crate::settings::literal_text;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, id UUID, storage String, num_elements UInt64, apply_to_all UInt8, \
         apply_to_list Array(String), apply_to_except Array(String)",
    )
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let profiles = || entities.profiles.iter();
    let mut block = BlockBuilder::default();
    block
        .strings(profiles().map(|(name, _)| name))
        .uuids(profiles().map(|(name, _)| entity_uuid("settings profile", name)))
        .strings(profiles().map(|_| storage(false)))
        .u64s(profiles().map(|(_, profile)| profile.settings.as_ref().map_or(0, Vec::len) as u64));
    apply_to(&mut block, profiles().map(|(_, profile)| profile.to.as_ref()));
    block.finish(&columns())
}

pub(super) fn element_columns() -> Columns {
    block::declared(
        "profile_name Nullable(String), user_name Nullable(String), role_name Nullable(String), index UInt64, \
         setting_name Nullable(String), value Nullable(String), min Nullable(String), max Nullable(String), \
         writability Nullable(Enum8('WRITABLE' = 0, 'CONST' = 1, 'CHANGEABLE_IN_READONLY' = 2)), \
         inherit_profile Nullable(String)",
    )
}

struct Line<'a> {
    profile: Option<&'a str>,
    user: Option<&'a str>,
    role: Option<&'a str>,
    index: u64,
    element: &'a ProfileElement,
}

impl Line<'_> {
    fn setting(&self) -> Option<&SettingConstraint> {
        match self.element {
            ProfileElement::Setting(setting) => Some(setting),
            ProfileElement::Profile(_) => None,
        }
    }

    fn text(&self, pick: fn(&SettingConstraint) -> &Option<Literal>) -> Option<String> {
        pick(self.setting()?).as_ref().map(literal_text)
    }
}

pub(super) fn element_block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (name, profile) in &entities.profiles {
        let elements = profile.settings.iter().flatten().zip(0..);
        let profile = Some(name.as_str());
        lines.extend(elements.map(|(element, index)| Line {
            profile,
            user: None,
            role: None,
            index,
            element,
        }));
    }
    for (name, user) in &entities.users {
        let (elements, user) = (user.settings().iter().zip(0..), Some(name.as_str()));
        lines.extend(elements.map(|(element, index)| Line {
            profile: None,
            user,
            role: None,
            index,
            element,
        }));
    }
    for (name, role) in &entities.roles {
        let elements = role.definition.settings.iter().flatten().zip(0..);
        let role = Some(name.as_str());
        lines.extend(elements.map(|(element, index)| Line {
            profile: None,
            user: None,
            role,
            index,
            element,
        }));
    }
    let writability = |line: &Line<'_>| line.setting()?.readonly.map(i8::from);
    let inherited = |line: &Line<'_>| match line.element {
        ProfileElement::Profile(name) => Some(name.clone()),
        ProfileElement::Setting(_) => None,
    };
    BlockBuilder::default()
        .maybe_strings(lines.iter().map(|line| line.profile))
        .maybe_strings(lines.iter().map(|line| line.user))
        .maybe_strings(lines.iter().map(|line| line.role))
        .u64s(lines.iter().map(|line| line.index))
        .maybe_strings(lines.iter().map(|line| line.setting().map(|setting| setting.name.clone())))
        .maybe_strings(lines.iter().map(|line| line.text(|setting| &setting.value)))
        .maybe_strings(lines.iter().map(|line| line.text(|setting| &setting.min)))
        .maybe_strings(lines.iter().map(|line| line.text(|setting| &setting.max)))
        .push(Arc::new(lines.iter().map(writability).collect::<Int8Array>()))
        .maybe_strings(lines.iter().map(inherited))
        .finish(&element_columns())
}
