//! The types of a statement's parameters and columns, without running it.

use std::sync::Arc;

use basalt_engine::CancelHandle;

use super::client::Client;
use super::failure::{Failure, Outcome};
use super::prepared::Prepared;
use super::work;

/// Finds the types of parameters and columns, if that was not done before.
pub(super) async fn describe(
    client: &mut Client,
    prepared: &Arc<Prepared>,
) -> basalt_engine::Result<Outcome<()>> {
    if prepared.description.get().is_some() || prepared.engine_tag().is_none() {
        return Ok(Ok(()));
    }
    let described = {
        let prepared = Arc::clone(prepared);
        work::run(client, CancelHandle::default(), |mut session, _| async move {
            let described = session.describe_postgres(&prepared.text, &prepared.declared).await;
            (session, described)
        })
        .await?
    };
    Ok(described.map_err(Failure::from).map(|found| {
        // Another description of the same statement is as good.
        let _ = prepared.description.set(found);
    }))
}
