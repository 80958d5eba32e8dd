//! HiSparse matrices: conversion, sharing, and every operation on them.

mod conversion;
mod device;
mod pools;
mod products;
mod queue;
mod queued_conversion;
mod queued_entries;
mod queued_sum;
mod scales;
mod sharing;
mod spmv;
