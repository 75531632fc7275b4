//! What the cluster knows about itself, replicated among the coordinators: members, groups, collections, branches.

mod machine;
mod rows;
mod state;

pub use machine::{MetaAnswer, MetaCommand, MetaMachine};
pub use state::{Collection, GroupPlace, Member, Meta};

use sextant_proto::ids::GroupId;

/// The group of the coordinators themselves.
pub const META_GROUP: GroupId = GroupId(0);
