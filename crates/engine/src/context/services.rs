//! Services that all queries share.

use std::sync::Arc;

use basalt_base::clock::Clock;
use basalt_base::zone::Zone;

use super::memory::ServerMemory;

/// The services of an engine.
pub(crate) struct Services {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) memory: Arc<ServerMemory>,
    pub(crate) runtime: tokio::runtime::Handle,
    /// Processors of the machine: counted once, because counting reads several files of the system.
    pub(crate) processors: usize,
    /// The zone of the machine.
    pub(crate) zone: Zone,
}
