//! The users who connect: asks the engine, and slows down those who guess.

use std::sync::Arc;

use basalt_engine::{Engine, Proof, Result, ScramSecret, authentication_failed};
use tokio::task::block_in_place;

use crate::connections::Peer;
use crate::guesses::Guesses;

/// The users of an engine, as the interfaces let them in.
pub(crate) struct Users {
    engine: Arc<Engine>,
    guesses: Guesses,
}

impl Users {
    pub(crate) fn new(engine: &Arc<Engine>) -> Users {
        Users { engine: Arc::clone(engine), guesses: Guesses::default() }
    }

    /// The name of the user, if the password or the certificate is right. An empty name means `default`. After a wrong
    /// password the answer takes longer each time, for this user and address.
    pub(crate) async fn authenticate(&self, name: &str, password: &str, peer: &Peer) -> Result<String> {
        if let Some(user) = self.with_certificate(name, peer) {
            return Ok(user);
        }
        let address = peer.address.ip();
        let check_here = || self.engine.authenticate(name, Proof::Password(password), Some(address));
        let check = || match self.engine.is_checked_slowly(name) {
            true => block_in_place(check_here),
            false => check_here(),
        };
        self.guesses.slowed(name, address, check).await
    }

    /// What is stored of the password of a user who logs in by SCRAM-SHA-256.
    pub(crate) fn scram_secret(&self, name: &str) -> Option<ScramSecret> {
        self.engine.scram_secret(name)
    }

    /// The name of the user after an exchange of SCRAM-SHA-256.
    pub(crate) async fn finish_scram(&self, name: &str, is_proved: bool, peer: &Peer) -> Result<String> {
        let address = peer.address.ip();
        let check = || match is_proved {
            true => self.engine.authenticate(name, Proof::Scram, Some(address)),
            false => Err(authentication_failed(name)),
        };
        self.guesses.slowed(name, address, check).await
    }

    /// The name of a user who is let in without a password, so that none is asked for.
    pub(crate) fn needs_no_password(&self, name: &str, peer: &Peer) -> Option<String> {
        let without = || self.engine.authenticate(name, Proof::Nothing, Some(peer.address.ip())).ok();
        self.with_certificate(name, peer).or_else(without)
    }

    fn with_certificate(&self, name: &str, peer: &Peer) -> Option<String> {
        let certificate = peer.certificate.as_ref()?;
        let proof = Proof::Certificate {
            common_name: certificate.common_name.as_deref(),
            alternative_names: &certificate.alternative_names,
        };
        self.engine.authenticate(name, proof, Some(peer.address.ip())).ok()
    }
}
