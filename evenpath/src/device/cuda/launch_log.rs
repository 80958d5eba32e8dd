//! Log of kernels that may have caused a fault: a GPU reports a fault late and does not name its kernel.

/// Kernels launched since the host last saw the device idle.
#[derive(Debug, Default)]
pub(super) struct LaunchLog {
    launches: u64,
    /// Each kernel once for each stream, with the number of its last launch there.
    kernels: Vec<(&'static str, u32, u64)>,
}

impl LaunchLog {
    /// Adds a launch on a stream.
    pub(super) fn launched(&mut self, kernel: &'static str, stream: u32) {
        self.launches += 1;
        match self.kernels.iter_mut().find(|(name, own, _)| *name == kernel && *own == stream) {
            Some((_, _, last)) => *last = self.launches,
            None => self.kernels.push((kernel, stream, self.launches)),
        }
    }

    /// Number of launches so far.
    pub(super) fn launches(&self) -> u64 {
        self.launches
    }

    /// Removes launches of a stream that are among the first `launches`: they completed.
    pub(super) fn finished(&mut self, stream: u32, launches: u64) {
        self.kernels.retain(|&(_, own, last)| own != stream || last > launches);
    }

    /// Names of kernels that are not known to have completed.
    pub(super) fn kernels(&self) -> Vec<&'static str> {
        let mut kernels = Vec::new();
        for &(name, ..) in &self.kernels {
            if !kernels.contains(&name) {
                kernels.push(name);
            }
        }
        kernels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_launches_before_a_wait_are_removed() {
        let mut log = LaunchLog::default();
        for kernel in ["scan", "sort", "scan"] {
            log.launched(kernel, 0);
        }
        assert_eq!(log.kernels(), ["scan", "sort"]);
        let seen = log.launches();
        log.launched("sort", 0);
        log.launched("scan", 1);
        log.launched("scan", 1);
        log.finished(0, seen);
        assert_eq!(log.kernels(), ["sort", "scan"]);
        log.finished(0, log.launches());
        assert_eq!(log.kernels(), ["scan"], "of the other stream");
        log.finished(1, log.launches());
        assert!(log.kernels().is_empty());
    }
}
