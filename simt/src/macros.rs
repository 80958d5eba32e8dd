/// Declares a kernel, once for every machine.
///
/// ```text
/// kernel! {
///     /// What it computes.
///     pub struct Scale<V: Float> {
///         /// The vector, `len` elements.
///         pub data: GlobalMut<V>,
///         /// Its factor.
///         pub factor: V,
///     }
///     shared: 0;
///     body: Scale::scale::<BLOCK, ITEMS>;
///     entry: scale_{V} in vector_{V}: V in [f32, f64], 128 x 4;
/// }
/// ```
///
/// The struct's fields are the kernel's parameters: numbers, views, or structs of them (see
/// [`parameters!`](crate::parameters!)).
///
/// An entry is a row of instances: the name of the PTX entry, the PTX module that holds it, variables with the values
/// that each takes, and the tile as threads × items. There is an instance for each combination of values, in the order
/// of the row; the last variable varies fastest. `body` and `shared` (the bytes of statically sized shared memory)
/// refer to types by their variables, and to the tile as `BLOCK` and `ITEMS`. `entries: { … }` has several rows.
///
/// ```text
/// entries: {
///     merge_{K} in merge_{K}: (K, N) in [(u32, 23), (u64, 15)], 256 x N;
///     scan_{P}_{V} in scan_{V}: V in [u32, f32], P in [Sum as sum, Min as min], 320 x 44 resident 2;
/// }
/// ```
///
/// * A variable that is a type parameter of the struct takes types. Each instance needs one for every parameter.
/// * A variable of the tile takes numbers.
/// * One more variable may take types: it names a variant. `body` refers to the type `Sum` as `P`, and the host finds
///   the instance by its types and that name.
/// * Variables in parentheses take values together. `V = f32` is short for one value.
/// * `{V}` in a name is the value's text, or what follows it after `as`; `{V bits}` is the number in it, 32 for `f32`.
/// * A tile may be followed by `resident` and the number of blocks that a multiprocessor is to hold at once, by which the
///   compiler limits the registers per thread; with 0 it is free.
///
/// The body is a method of the struct, called with the shared [`Arena`](crate::Arena).
///
/// On the GPU every instance becomes a PTX entry, unless the crate that declares the kernel has a feature
/// `without-entries` which is on: then other crates use its functions in kernels of their own. Elsewhere the struct is
/// declared, with [`Kernel`](crate::kernel::Kernel) for it: the parameters that the host packs for a launch, and the
/// instances as [`KernelInfo`](crate::kernel::KernelInfo), each with its entry for the simulated GPU.
#[macro_export]
macro_rules! kernel {
    (
        $(#[$doc:meta])*
        pub struct $kernel:ident $(<$($generic:ident: $bound:ident),+>)? { $($fields:tt)* }
        shared: $shared:expr;
        body: $body:expr;
        entries: { $($rows:tt)+ }
    ) => {
        $crate::instances! {
            { $crate::kernel_rows }
            [$($($generic),+)?]
            {
                $(#[$doc])*
                $kernel [$($($generic: $bound),+)?] [$($($generic),+)?], { $($fields)* }, $shared, [$kernel $body],
            }
            $($rows)+
        }
    };
    (
        $(#[$doc:meta])*
        pub struct $kernel:ident $(<$($generic:ident: $bound:ident),+>)? { $($fields:tt)* }
        shared: $shared:expr;
        body: $body:expr;
        entry: $($row:tt)+
    ) => {
        $crate::kernel! {
            $(#[$doc])*
            pub struct $kernel $(<$($generic: $bound),+>)? { $($fields)* }
            shared: $shared;
            body: $body;
            entries: { $($row)+ }
        }
    };
}

/// [`kernel!`] with one row per instance, and its fields as one token tree, which every row can repeat.
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_rows {
    (
        $(#[$doc:meta])*
        $kernel:ident $bounds:tt $generics:tt, $fields:tt, $shared:expr, $body:tt,
        $($entry:ident in $module:ident: $(<$($assigned:ident = $argument:ty),+>,)? $(with $marker:ident = $variant:ident,)? $block:literal x $items:literal $(resident $resident:literal)?;)+
    ) => {
        $crate::kernel_arguments! {
            $(#[$doc])*
            $kernel $bounds $generics $fields
            [$($crate::kernel_info! {
                { [$($($assigned = $argument),+)?] [$($marker = $variant)?] $block, $items } [$($resident)?],
                $shared, $entry, $module, $fields
            }),+]
            [$($crate::kernel_simulation! {
                { [$($($assigned = $argument),+)?] [$($marker = $variant)?] $block, $items }
                $shared, $body, $fields
            }),+]
        }
        $($crate::kernel_entry! {
            { [$($($assigned = $argument),+)?] [$($marker = $variant)?] $block, $items }
            $shared, $body, $entry, $fields
        })+
    };
}

/// The argument struct of [`kernel!`], with its [`Kernel`](crate::kernel::Kernel).
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_arguments {
    (
        $(#[$doc:meta])*
        $kernel:ident [$($generic:ident: $bound:ident),*] [$($parameter:ident),*]
        { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }
        [$($info:expr),+] [$($simulation:expr),+]
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $kernel<$($generic: $bound),*> {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<$($generic: $bound),*> $crate::kernel::Kernel for $kernel<$($parameter),*> {
            const INSTANCES: &'static [&'static $crate::kernel::KernelInfo] = &[$($info),+];
            const SIMULATIONS: &'static [$crate::kernel::Simulation] = &[$($simulation),+];
            const TYPES: &'static [$crate::ScalarType] = &[$(<$generic as $crate::Element>::TYPE),*];

            fn pack(self) -> Vec<$crate::kernel::Argument> {
                let mut arguments = Vec::with_capacity(const {
                    0 $(+ <$type as $crate::parameter::Parameter>::KIND.arguments())*
                });
                $($crate::parameter::Parameter::pack(self.$field, &mut arguments);)*
                arguments
            }
        }
    };
}

/// Declares the functions `kernels` and `simulations` at the root of a crate: its kernels, in the order of its modules.
///
/// They are found in the sources, in the folder `src`: every [`kernel!`](crate::kernel!) in a module with a file of its
/// own. A kernel's module, or one around it that re-exports the kernel, must be visible at the root, and the first
/// types of a kernel must be those of every module, such as `f32`.
#[macro_export]
macro_rules! kernel_table {
    () => {
        $crate::declared_kernels! { $crate::kernel_table_of }
    };
}

/// [`kernel_table!`](crate::kernel_table!) with the kernels.
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_table_of {
    ($($kernel:ty,)*) => {
        /// Every kernel instance of the crate, in the order of its modules.
        pub fn kernels() -> Vec<&'static $crate::kernel::KernelInfo> {
            [$(<$kernel as $crate::kernel::Kernel>::INSTANCES),*].concat()
        }

        /// Returns the body of every kernel instance for the simulated GPU, with the name of the instance.
        pub fn simulations() -> Vec<(&'static str, $crate::kernel::Simulation)> {
            [$($crate::kernel::simulations::<$kernel>()),*].concat()
        }
    };
}

/// Declares a struct that kernels take as a parameter, such as a view of a matrix.
///
/// Its fields are parameters themselves. On the GPU it is one parameter, in which each field begins at a multiple of 8 bytes
/// (see [`EntryParameter`](crate::EntryParameter)).
///
/// ```text
/// parameters! {
///     /// A vector and its length.
///     pub struct Vector<V: Element> {
///         /// The elements.
///         pub data: Global<V>,
///         /// How many there are.
///         pub len: u32,
///     }
/// }
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$doc:meta])*
        pub struct $name:ident $(<$($generic:ident: $bound:ident),+>)? {
            $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name $(<$($generic: $bound),+>)? {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        const _: () = {
            #[derive(Debug, Clone, Copy)]
            #[repr(C)]
            pub struct Words $(<$($generic: $bound),+>)? {
                $($field: <$type as $crate::EntryParameter>::Field,)+
            }

            impl $(<$($generic: $bound),+>)? $crate::EntryParameter for $name $(<$($generic),+>)? {
                type Passed = Words $(<$($generic),+>)?;
                type Field = Self::Passed;

                #[$crate::device]
                fn receive(passed: Self::Passed) -> Self {
                    Self { $($field: $crate::EntryParameter::receive_field(passed.$field),)+ }
                }

                #[$crate::device]
                fn receive_field(field: Self::Field) -> Self {
                    Self::receive(field)
                }
            }
        };

        #[cfg(not(target_arch = "nvptx64"))]
        impl $(<$($generic: $bound),+>)? $crate::parameter::Parameter for $name $(<$($generic),+>)? {
            const KIND: $crate::kernel::ParameterKind = $crate::kernel::ParameterKind::Struct(&[
                $((stringify!($field), <$type as $crate::parameter::Parameter>::KIND)),+
            ]);

            fn pack(self, arguments: &mut Vec<$crate::kernel::Argument>) {
                $($crate::parameter::Parameter::pack(self.$field, arguments);)+
            }

            fn unpack(arguments: &mut $crate::kernel::Arguments<'_>) -> Self {
                // Fields are evaluated in the order in which they are written.
                Self { $($field: $crate::parameter::Parameter::unpack(arguments),)+ }
            }
        }
    };
}

/// The names by which `body` and `shared` of [`kernel!`] refer to a row's types and tile.
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_names {
    ({ [$($assigned:ident = $argument:ty),*] [$($marker:ident = $variant:ident)?] $block:expr, $items:expr }) => {
        $(#[allow(dead_code)] type $assigned = $argument;)*
        $(#[allow(dead_code)] type $marker = $variant;)?
        #[allow(dead_code)]
        const BLOCK: usize = $block;
        #[allow(dead_code)]
        const ITEMS: usize = $items;
    };
}

/// The [`KernelInfo`](crate::kernel::KernelInfo) of one row of [`kernel!`].
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_info {
    (
        { [$($assigned:ident = $argument:ty),*] [$($marker:ident = $variant:ident)?] $block:expr, $items:expr } [$($resident:literal)?],
        $shared:expr, $entry:ident, $module:ident, { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }
    ) => {{
        $crate::kernel_names! { { [$($assigned = $argument),*] [$($marker = $variant)?] $block, $items } }
        const SHARED: usize = $shared;
        &$crate::kernel::KernelInfo {
            name: stringify!($entry),
            module: stringify!($module),
            types: &[$(<$argument as $crate::Element>::TYPE),*],
            variant: concat!("" $(, stringify!($variant))?),
            block_size: BLOCK as u32,
            items_per_thread: ITEMS as u32,
            resident_blocks: 0 $(+ $resident)?,
            shared_bytes: SHARED as u32,
            parameters: &[$((stringify!($field), <$type as $crate::parameter::Parameter>::KIND),)*],
        }
    }};
}

/// The body of one row of [`kernel!`] for the simulated GPU.
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_simulation {
    (
        $names:tt $shared:expr, $body:tt, { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }
    ) => {{
        $crate::kernel_names! { $names }
        fn simulate(arguments: &[$crate::kernel::Argument]) {
            let mut arguments = arguments.iter();
            $(let $field: $type = $crate::parameter::Parameter::unpack(&mut arguments);)*
            $crate::kernel_call! { $body, $crate::Arena::fixed::<{ $shared }>(), $($field),* }
        }
        simulate
    }};
}

/// Calls the body of [`kernel!`].
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_call {
    ([$kernel:ident $body:expr], $arena:expr, $($field:ident),*) => {
        ($body)($kernel { $($field),* }, $arena)
    };
}

/// One PTX entry of [`kernel!`]; through cuda_std also on the host, to check that it would take it.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "nvvm")]
macro_rules! kernel_entry {
    (
        $names:tt $shared:expr, $body:tt, $entry:ident, { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        const _: () = {
            $crate::kernel_names! { $names }
            /// # Safety
            ///
            /// Launched by the host with live buffers, in blocks of the declared size.
            #[$crate::cuda_std::kernel]
            #[allow(improper_ctypes_definitions, unexpected_cfgs, clippy::too_many_arguments)]
            pub unsafe fn $entry($($field: <$type as $crate::EntryParameter>::Passed),*) {
                $(let $field: $type = $crate::EntryParameter::receive($field);)*
                $crate::kernel_call! { $body, $crate::Arena::fixed::<{ $shared }>(), $($field),* }
            }
        };
    };
}

/// One PTX entry of [`kernel!`].
#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "nvvm"))]
macro_rules! kernel_entry {
    (
        $names:tt $shared:expr, $body:tt, $entry:ident, { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        #[cfg(all(target_arch = "nvptx64", not(feature = "without-entries")))]
        const _: () = {
            $crate::kernel_names! { $names }
            /// # Safety
            ///
            /// Launched by the host with live buffers, in blocks of the declared size.
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn $entry($($field: <$type as $crate::EntryParameter>::Passed),*) {
                $(let $field: $type = $crate::EntryParameter::receive($field);)*
                $crate::kernel_call! { $body, $crate::Arena::fixed::<{ $shared }>(), $($field),* }
            }
        };
    };
}
