//! The suite on a backend of one's own.

mod mine;

use std::error::Error;
use std::process::ExitCode;

use backend_cpu::host::Host;
use conformance::{Options, guard, run};
use mine::Mine;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let target = guard::with_canaries(Host::new(Mine::default()))?;
    let report = run(target.as_ref(), &Options::default())?;
    print!("{report}");
    Ok(if report.conforms() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
