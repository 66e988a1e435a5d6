//! Runs any text: its statements are answered or refused in time, with an error in our words that is not an internal
//! error.
#![no_main]

use std::cell::RefCell;

use basalt_itest::any_text::AnyText;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static ENGINE: RefCell<AnyText> = RefCell::default();
}

fuzz_target!(|text: &[u8]| {
    ENGINE.with_borrow_mut(|engine| {
        if let Err(broken) = engine.run(text) {
            panic!("{broken}");
        }
    });
});
