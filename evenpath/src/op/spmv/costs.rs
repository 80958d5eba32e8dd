//! Costs of the terms of an [estimate](super::cost), in microseconds on an H200. `docs/spmv-methods.md` prints this table.

/// Amounts of what a product takes, or what one of each costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Terms {
    /// Megabytes from memory.
    pub(super) memory: f64,
    /// Megabytes, from wherever.
    pub(super) cache: f64,
    /// Waves of rows, or of the threads of all rows.
    pub(super) rows: f64,
    /// Waves of nonzeros, or of the steps that rows of the mean length take.
    pub(super) work: f64,
    /// Waves of the steps that the longest row of a warp or block takes.
    pub(super) uneven: f64,
    /// By lanes, megabytes once more; by tiles, waves of chunks.
    pub(super) again: f64,
    /// Waves of nonzeros of long rows that are cut into pieces.
    pub(super) long: f64,
    /// Millions of sectors of x, if the first-level cache has room for x.
    pub(super) near: f64,
    /// The same, if it has none.
    pub(super) far: f64,
    /// Chain: steps of the longest row; by equal shares, further blocks that it lies in.
    pub(super) steps: f64,
    /// Chain: loads of the longest row before the first sum.
    pub(super) loads: f64,
    /// Chain: by lanes, whether there is a second wave; by tiles, empty rows for each other one.
    pub(super) more: f64,
}

/// Costs of a method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub(super) launch: f64,
    pub(super) terms: Terms,
}

impl Terms {
    /// Returns the time of all threads together, by these costs.
    pub(super) fn throughput(&self, amounts: &Self) -> f64 {
        self.memory * amounts.memory
            + self.cache * amounts.cache
            + self.rows * amounts.rows
            + self.work * amounts.work
            + self.uneven * amounts.uneven
            + self.again * amounts.again
            + self.long * amounts.long
            + self.near * amounts.near
            + self.far * amounts.far
    }

    /// Returns the time of the longest chain of steps, by these costs.
    pub(super) fn chain(&self, amounts: &Self) -> f64 {
        self.steps * amounts.steps + self.loads * amounts.loads + self.more * amounts.more
    }
}

macro_rules! costs {
    ($($name:ident, $text:literal: $launch:literal,
        [$memory:literal, $cache:literal, $rows:literal, $work:literal, $uneven:literal, $again:literal, $long:literal],
        [$near:literal, $far:literal],
        [$steps:literal, $loads:literal, $more:literal];)*) => {
        $(pub(super) const $name: Costs = Costs {
            launch: $launch,
            terms: Terms {
                memory: $memory,
                cache: $cache,
                rows: $rows,
                work: $work,
                uneven: $uneven,
                again: $again,
                long: $long,
                near: $near,
                far: $far,
                steps: $steps,
                loads: $loads,
                more: $more,
            },
        };)*

        /// The lines of the table.
        #[cfg(test)]
        const TABLE: &[(&str, &[&str])] = &[$(($text, &[
            stringify!($launch),
            stringify!($memory),
            stringify!($cache),
            stringify!($rows),
            stringify!($work),
            stringify!($uneven),
            stringify!($again),
            stringify!($long),
            stringify!($near),
            stringify!($far),
            stringify!($steps),
            stringify!($loads),
            stringify!($more),
        ])),*];
    };
}

costs! {
    LANES, "`scalar`, `vector`, `warp`": 3.93,
        [0.221, 0.00842, 0.647, 0.00778, 0.186, 0.0279, 0.0],
        [1.8, 5.5],
        [0.102, 0.0, 0.0233];
    BLOCK, "`block`": 3.95,
        [0.283, 0.0549, 0.796, 0.00224, 0.0, 0.0, 0.0],
        [1.5, 14.0],
        [0.11, 0.0, 0.0];
    ROW_TILES, "`row-tiles`": 4.81,
        [0.145, 0.108, 0.326, 0.0, 0.128, 0.0457, 0.0],
        [1.9, 6.1],
        [0.0288, 0.498, 0.277];
    ROW_BLOCKS, "`row-blocks`": 5.15,
        [0.167, 0.108, 0.994, 0.00375, 0.0317, 0.0, 0.0],
        [2.1, 5.8],
        [0.0123, 0.0634, 0.0];
    BINNED, "`binned`": 4.9,
        [0.129, 0.157, 0.953, 0.0, 0.096, 0.0174, 1.05],
        [1.1, 5.3],
        [0.0301, 0.729, 0.433];
    FLAT, "`flat`": 5.0,
        [0.183, 0.0477, 0.902, 0.309, 0.0, 0.0, 0.0],
        [2.4, 5.4],
        [0.123, 0.0, 0.0];
    MERGE_PATH, "`merge-path`": 5.2,
        [0.175, 0.0795, 1.11, 0.33, 0.0, 0.0, 0.0],
        [1.8, 5.5],
        [0.013, 0.0, 0.0];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_the_costs() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spmv-methods.md");
        let page = std::fs::read_to_string(path).expect("the page on the methods of SpMV");
        let cell = |cost: &&str| if *cost == "0.0" { "" } else { cost }.to_string();
        let rows: Vec<String> = TABLE
            .iter()
            .map(|(name, costs)| {
                format!("| {name} | {} |", costs.iter().map(cell).collect::<Vec<_>>().join(" | "))
            })
            .collect();
        let missing: Vec<&String> =
            rows.iter().filter(|row| !page.lines().any(|line| line == **row)).collect();
        assert!(missing.is_empty(), "the table in {path} should be:\n{}", rows.join("\n"));
    }
}
