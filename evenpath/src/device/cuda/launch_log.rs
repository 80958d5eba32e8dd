//! Which kernels may have made a fault: a GPU tells that something went wrong, later, and not where.

/// The kernels launched since the host last saw the device done.
#[derive(Debug, Default)]
pub(super) struct LaunchLog {
    launches: u64,
    /// Each kernel once, with the number of its last launch.
    kernels: Vec<(&'static str, u64)>,
}

impl LaunchLog {
    /// Adds a launch.
    pub(super) fn launched(&mut self, kernel: &'static str) {
        self.launches += 1;
        match self.kernels.iter_mut().find(|(name, _)| *name == kernel) {
            Some((_, last)) => *last = self.launches,
            None => self.kernels.push((kernel, self.launches)),
        }
    }

    /// Launches so far.
    pub(super) fn launches(&self) -> u64 {
        self.launches
    }

    /// Forgets the first `launches` launches: they ended well.
    pub(super) fn finished(&mut self, launches: u64) {
        self.kernels.retain(|&(_, last)| last > launches);
    }

    /// The kernels not known to have ended well.
    pub(super) fn kernels(&self) -> Vec<&'static str> {
        self.kernels.iter().map(|&(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_launched_before_a_wait_is_forgotten() {
        let mut log = LaunchLog::default();
        for kernel in ["scan", "sort", "scan"] {
            log.launched(kernel);
        }
        assert_eq!(log.kernels(), ["scan", "sort"]);
        let seen = log.launches();
        log.launched("sort");
        log.finished(seen);
        assert_eq!(log.kernels(), ["sort"]);
        log.finished(log.launches());
        assert!(log.kernels().is_empty());
    }
}
