//! A version that a load has built, before it answers.

use std::path::PathBuf;
use std::sync::Arc;

use basalt_dict::{Dictionary, LoadedImage, PendingImage, UnnamedVersion};
use uuid::Uuid;

use super::host::LoadHost;

/// A new version, where it was built.
pub(super) enum Built {
    Memory(Arc<dyn Dictionary>),
    /// It answers from the file until it is read into memory.
    UnnamedFile(Box<UnnamedVersion>),
    /// In the dictionary's own file, which is not published yet.
    OwnFile(Box<PendingImage>),
}

impl Built {
    pub(super) fn element_count(&self) -> u64 {
        match self {
            Built::Memory(dictionary) => dictionary.stats().element_count,
            Built::UnnamedFile(version) => version.dictionary().stats().element_count,
            Built::OwnFile(pending) => pending.element_count(),
        }
    }
}

impl From<LoadedImage> for Built {
    fn from(image: LoadedImage) -> Built {
        match image {
            LoadedImage::InMemory(dictionary) => Built::Memory(dictionary),
            LoadedImage::InFile(pending) => Built::OwnFile(pending),
        }
    }
}

/// A new name for a directory of spill partitions.
pub(super) fn spill_dir(host: &dyn LoadHost) -> PathBuf {
    host.temporary_dir().join(format!("dictionary-{}", Uuid::new_v4()))
}
