//! Compiles the class of C++ that RocksDB asks, with RocksDB's headers and the definitions of its own build.

use std::path::PathBuf;

const SOURCE: &str = "src/policy.cc";

fn main() -> Result<(), std::env::VarError> {
    println!("cargo:rerun-if-changed={SOURCE}");
    let rocksdb = PathBuf::from(std::env::var("DEP_ROCKSDB_CARGO_MANIFEST_DIR")?).join("rocksdb");
    let mut build = cc::Build::new();
    // Warnings are of `CXX` in .cargo/config.toml, whose family cc cannot tell.
    build.cargo_warnings(false).cpp(true).std("c++20").file(SOURCE);
    // The headers are RocksDB's: their warnings are not ours.
    build.warnings(false).include(rocksdb.join("include")).include(rocksdb);
    for definition in
        ["NDEBUG", "HAVE_ALIGNED_NEW", "ROCKSDB_PLATFORM_POSIX", "ROCKSDB_LIB_IO_POSIX", "OS_LINUX"]
    {
        build.define(definition, None);
    }
    build.compile("basalt_kvfilter");
    Ok(())
}
