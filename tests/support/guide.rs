//! The programs of the README and the guide, which compile and run as doc tests.

macro_rules! pages {
    ($($name:ident: $path:literal;)*) => {$(
        #[doc = include_str!(concat!("../../", $path))]
        mod $name {}
    )*};
}

pages! {
    readme: "README.md";
    first_steps: "docs/guide/first-steps.md";
    operations: "docs/guide/operations.md";
    recipes: "docs/guide/recipes.md";
    plans: "docs/guide/plans.md";
    devices: "docs/guide/devices.md";
    streams: "docs/guide/streams.md";
    others_memory: "docs/guide/others-memory.md";
    distributed: "docs/guide/distributed.md";
    memory: "docs/guide/memory.md";
    errors: "docs/guide/errors.md";
    reproducibility: "docs/guide/reproducibility.md";
    migrating: "docs/guide/migrating.md";
}
