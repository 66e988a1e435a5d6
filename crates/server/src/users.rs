//! The users of the server: there is one, `default`, with a password or none.

use basalt_engine::{Error, ErrorCode, Result};

use crate::password::Password;

const DEFAULT_USER: &str = "default";

/// The users, and the passwords that they log in with.
#[derive(Debug)]
pub(crate) struct Users {
    password: Option<Password>,
}

impl Users {
    /// The user `default`, with `password` if there is one.
    pub(crate) fn new(password: Option<Password>) -> Users {
        Users { password }
    }

    /// The name of the user, if the password is right. An empty name means `default`.
    pub(crate) fn authenticate(&self, user: &str, password: &str) -> Result<String> {
        let user = if user.is_empty() { DEFAULT_USER } else { user };
        // Compared even for an unknown user, so that the time reveals nothing.
        let is_right = self.password.as_ref().map_or(password.is_empty(), |expected| expected.is(password));
        if is_right && user == DEFAULT_USER {
            return Ok(user.to_owned());
        }
        Err(Error::new(
            ErrorCode::AuthenticationFailed,
            format!(
                "{user}: authentication failed: password is incorrect, or there is no user with such name"
            ),
        ))
    }
}
