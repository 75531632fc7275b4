//! The one test binary of the whole: each module a subject.

mod e2e;
mod metrics;
mod tidy;
