//! What BEGIN, COMMIT and ROLLBACK mean where each statement takes effect at once.
//!
//! A transaction that only reads is as in PostgreSQL. What was written in one stays: COMMIT keeps it anyway, and
//! ROLLBACK says that it cannot undo it.

use basalt_wire::postgres::TransactionStatus;

use super::failure::{Failure, Outcome, state};

/// The transaction of a client.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) status: TransactionStatus,
    /// Whether a statement since BEGIN may have written something.
    has_written: bool,
    /// Whether the client knows that there are no transactions.
    is_warned: bool,
}

/// A tag, and a warning with its SQLSTATE.
pub(super) type Tagged = (&'static str, Option<(&'static str, &'static str)>);

impl Transaction {
    pub(super) fn begin(&mut self) -> Tagged {
        if self.status != TransactionStatus::Idle {
            return (
                "BEGIN",
                Some((state::ACTIVE_TRANSACTION, "there is already a transaction in progress")),
            );
        }
        self.status = TransactionStatus::InTransaction;
        self.has_written = false;
        let warning = "there are no transactions: each statement takes effect at once, and ROLLBACK cannot undo what it wrote";
        let is_first = !std::mem::replace(&mut self.is_warned, true);
        ("BEGIN", is_first.then_some((state::WARNING, warning)))
    }

    pub(super) fn commit(&mut self) -> Outcome<Tagged> {
        match std::mem::take(&mut self.status) {
            TransactionStatus::Idle => Ok(("COMMIT", Some(without_transaction()))),
            TransactionStatus::InTransaction => Ok(("COMMIT", None)),
            TransactionStatus::Failed => self.undo().map(|()| ("ROLLBACK", None)),
        }
    }

    pub(super) fn rollback(&mut self) -> Outcome<Tagged> {
        match std::mem::take(&mut self.status) {
            TransactionStatus::Idle => Ok(("ROLLBACK", Some(without_transaction()))),
            _ => self.undo().map(|()| ("ROLLBACK", None)),
        }
    }

    /// SAVEPOINT, RELEASE and ROLLBACK TO, by their tag.
    pub(super) fn savepoint(&mut self, tag: &'static str) -> Outcome<Tagged> {
        if self.status == TransactionStatus::Idle {
            return Err(Failure::new(
                state::NO_ACTIVE_TRANSACTION,
                format!("{tag} needs a transaction: send BEGIN"),
            ));
        }
        if tag == "ROLLBACK" {
            self.undo()?;
            self.status = TransactionStatus::InTransaction;
        }
        Ok((tag, None))
    }

    fn undo(&self) -> Outcome<()> {
        if !self.has_written {
            return Ok(());
        }
        let what =
            "ROLLBACK cannot undo what was written since BEGIN: each statement has taken effect at once";
        Err(Failure::new(state::FEATURE_NOT_SUPPORTED, what))
    }

    /// Fails if statements are refused until the end of the transaction.
    pub(super) fn check(&self) -> Outcome<()> {
        match self.status {
            TransactionStatus::Failed => Err(Failure::new(
                state::IN_FAILED_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            )),
            _ => Ok(()),
        }
    }

    /// A statement that may write has begun.
    pub(super) fn write(&mut self) {
        self.has_written = true;
    }

    /// A statement has failed.
    pub(super) fn fail(&mut self) {
        if self.status == TransactionStatus::InTransaction {
            self.status = TransactionStatus::Failed;
        }
    }
}

fn without_transaction() -> (&'static str, &'static str) {
    (state::NO_ACTIVE_TRANSACTION, "there is no transaction in progress")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollback_of_reads_succeeds_and_of_writes_fails() {
        let mut transaction = Transaction::default();
        assert!(transaction.begin().1.is_some());
        transaction.fail();
        assert!(transaction.check().is_err());
        assert_eq!(transaction.rollback().expect("nothing is lost"), ("ROLLBACK", None));
        assert_eq!(transaction.begin(), ("BEGIN", None));
        transaction.write();
        assert!(transaction.rollback().is_err());
        assert_eq!(transaction.status, TransactionStatus::Idle);
        assert!(transaction.rollback().expect("a warning").1.is_some());
    }

    #[test]
    fn commit_of_a_failed_transaction_is_a_rollback() {
        let mut transaction = Transaction::default();
        transaction.begin();
        transaction.fail();
        assert_eq!(transaction.commit().expect("nothing is lost").0, "ROLLBACK");
        assert!(transaction.savepoint("SAVEPOINT").is_err());
        transaction.begin();
        transaction.fail();
        assert!(transaction.savepoint("ROLLBACK").is_ok() && transaction.check().is_ok());
    }
}
