//! Behavior of the table's operations in graphs.

use std::sync::{Arc, Mutex};

use evenpath::Device;
use evenpath::device::{DeviceKind, Graph};
use evenpath::error::{DeviceError, OpError};
use evenpath_tests::device_of_each_kind;

use super::operations::{Download, Run, operations};

/// An operation that can be dropped while a graph holds it.
type Shared = Arc<Mutex<Option<Run>>>;

/// Captures a graph of one run, whose state is the result; `fail` is called after the run.
fn capture<'g>(
    device: &Device,
    run: &Shared,
    fail: bool,
) -> Result<Graph<'g, Option<Download>, OpError>, OpError> {
    let run = Arc::clone(run);
    device.capture(None, move |result| {
        if let Some(run) = &mut *run.lock().expect("no panic") {
            *result = Some(run()?);
        }
        if fail { Err(OpError::InitialValue { is_segmented: false }) } else { Ok(()) }
    })
}

fn plain(run: &Shared) -> Vec<u8> {
    let mut run = run.lock().expect("no panic");
    let download = run.as_mut().expect("it is not dropped")().expect("a run");
    drop(run);
    download()
}

#[test]
fn graphs_match_the_table_on_every_device() {
    for operation in operations() {
        for device in device_of_each_kind() {
            let name = operation.name;
            let run: Shared = Arc::new(Mutex::new(Some(operation.instances[0](&device, &mut || {}))));
            let expected = plain(&run);
            let captured = capture(&device, &run, false).and_then(|mut graph| {
                graph.launch()?;
                graph.launch()?;
                Ok(graph)
            });
            match captured {
                Ok(graph) => {
                    assert!(operation.is_in_graphs, "{name} is captured on {device}");
                    let result = graph.into_state().expect("a result")();
                    assert!(!operation.is_ordered || result == expected, "{name} on {device}");
                }
                Err(error) => {
                    assert!(!operation.is_in_graphs, "{name} on {device}: {error}");
                    let is_refused = matches!(error, OpError::Device(DeviceError::Capture { .. }));
                    assert!(is_refused, "{name} on {device}: {error}");
                }
            }
            let after = plain(&run);
            assert!(!operation.is_ordered || after == expected, "{name} after a graph on {device}");
        }
    }
}

/// End of a graph.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Dropped,
    Failed,
    Launched,
}

/// Ends of a graph, with the number of runs before its capture.
const FATES: [(Fate, usize); 5] =
    [(Fate::Dropped, 0), (Fate::Dropped, 1), (Fate::Failed, 1), (Fate::Launched, 0), (Fate::Launched, 1)];

/// A capture runs nothing: plans and matrices are unchanged, with or without earlier runs.
#[test]
fn a_capture_changes_nothing() {
    for operation in operations() {
        for device in device_of_each_kind() {
            let name = operation.name;
            let setup = || Arc::new(Mutex::new(Some(operation.instances[0](&device, &mut || {}))));
            let expected = plain(&setup());
            for (fate, runs_before) in FATES {
                let run: Shared = setup();
                (0..runs_before).for_each(|_| drop(plain(&run)));
                let captured = capture(&device, &run, fate == Fate::Failed);
                if let (Ok(mut graph), Fate::Launched) = (captured, fate) {
                    // The CPU refuses here.
                    let _ = graph.launch();
                }
                let after = plain(&run);
                assert!(
                    !operation.is_ordered || after == expected,
                    "{name} on {device}, {fate:?} after {runs_before} runs"
                );
            }
        }
    }
}

/// The graph keeps all memory that it uses.
#[test]
fn operands_and_plans_may_be_dropped_before_a_launch() {
    for operation in operations().into_iter().filter(|operation| operation.is_in_graphs) {
        for device in device_of_each_kind().into_iter().filter(|device| device.kind() != DeviceKind::Cpu) {
            let name = operation.name;
            let run: Shared = Arc::new(Mutex::new(Some(operation.instances[0](&device, &mut || {}))));
            let expected = plain(&run);
            let mut graph = capture(&device, &run, false).expect(name);
            drop(run.lock().expect("no panic").take());
            // Free memory is reused by these.
            let others: Vec<_> =
                (0..20).map(|_| device.upload(&[0xff_u8; 1 << 14]).expect("memory")).collect();
            graph.launch().expect(name);
            let result = graph.into_state().expect("a result")();
            assert!(!operation.is_ordered || result == expected, "{name} on {device}");
            for other in others {
                assert_eq!(other.download().expect("a download"), [0xff; 1 << 14], "{name} on {device}");
            }
        }
    }
}
