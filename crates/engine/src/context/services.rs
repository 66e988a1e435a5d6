//! What every query needs of the engine.

use std::sync::Arc;

use basalt_base::clock::Clock;
use basalt_base::zone::Zone;

use super::memory::ServerMemory;

/// One for all queries.
pub(crate) struct Services {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) memory: Arc<ServerMemory>,
    pub(crate) runtime: tokio::runtime::Handle,
    /// Processors of the machine: counted once, for the system reads several files to answer.
    pub(crate) processors: usize,
    /// The zone of the machine.
    pub(crate) zone: Zone,
}
