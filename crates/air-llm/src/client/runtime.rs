//! Where requests run: two threads in the background, so that whoever asks needs no runtime.

use std::{
    future::Future,
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll, ready},
    time::Duration,
};

use air_core::port::{Background, BoxFuture};
use tokio::{runtime::Runtime, task::JoinHandle};

use crate::model::ModelError;

static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

fn runtime() -> Option<&'static Runtime> {
    let start = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("air-model").enable_all().build().ok()
    };
    RUNTIME.get_or_init(start).as_ref()
}

/// Runs `work` there. Dropping the future cancels it.
pub(super) async fn run<T: Send + 'static>(
    work: impl Future<Output = Result<T, ModelError>> + Send + 'static,
) -> Result<T, ModelError> {
    match runtime() {
        Some(runtime) => Task(runtime.spawn(work)).await,
        None => Err(ModelError::Connection("no threads can be started".to_owned())),
    }
}

/// The threads that models are asked on, for what goes on beside the agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Threads;

impl Background for Threads {
    fn run(&self, work: BoxFuture<'static, ()>) {
        match runtime() {
            Some(runtime) => drop(runtime.spawn(work)),
            None => drop(std::thread::spawn(|| futures::executor::block_on(work))),
        }
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let sleep = async move {
                tokio::time::sleep(time).await;
                Ok(())
            };
            if run(sleep).await.is_err() {
                std::thread::sleep(time);
            }
        })
    }
}

struct Task<T>(JoinHandle<Result<T, ModelError>>);

impl<T> Future for Task<T> {
    type Output = Result<T, ModelError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = ready!(Pin::new(&mut self.0).poll(context));
        let broken = |_| Err(ModelError::Malformed("reading it failed".to_owned()));
        Poll::Ready(ended.unwrap_or_else(broken))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
