use softhip::memory::*;
fn cpu() -> f64 { std::fs::read_to_string("/proc/thread-self/schedstat").unwrap().split(' ').next().unwrap().parse().unwrap() }
#[test]
fn bench() {
    let memory = Memory::new(7, 1 << 32);
    let size = 64u64 << 20;
    let base = memory.allocate(size, AllocationKind::Device, None).unwrap();
    memory.fill(base, &[0], size).unwrap();
    for (name, checks) in [("off", Checks::BOUNDS), ("init", Checks { races: false, uninitialised: true }), ("all", Checks::ALL), ("all again", Checks::ALL)] {
        for bytes in [4u32, 16] {
          for (pat, stride) in [("run", u64::from(bytes)), ("stride", 36)] {
            let launch = memory.launch(1000, checks);
            let mut out = [[0; WAVE]; 4];
            let t = cpu();
            let mut n = 0;
            let mut g = launch.group(0);
            for i in 0..60000u64 {
                if i % 64 == 0 { g = launch.group((i / 64) as u32); }
                let start = base + (i * 64 * u64::from(bytes)) % (size - 8192);
                let addresses: [u64; WAVE] = std::array::from_fn(|l| start + stride * l as u64);
                let a = WaveAccess { exec: u64::MAX, addresses: Addresses::Wide(&addresses), bytes, align: 1, pc: 0, atomic: false };
                launch.load(&mut g, &a, &mut out).unwrap();
                n += out[0][3];
            }
            let e = cpu() - t;
            println!("{name} {bytes} {pat}: {:.1} ns/access {n}", e / 60000.0);
            let t = cpu();
            for i in 0..60000u64 {
                let start = base + (i * 64 * u64::from(bytes)) % 16384;
                let addresses: [u64; WAVE] = std::array::from_fn(|l| start + stride * l as u64);
                let a = WaveAccess { exec: u64::MAX, addresses: Addresses::Wide(&addresses), bytes, align: 1, pc: 0, atomic: false };
                launch.load(&mut g, &a, &mut out).unwrap();
                n += out[0][3];
            }
            let e = cpu() - t;
            println!("   cached {name} {bytes} {pat}: {:.1} ns/access {n}", e / 60000.0);
          }
        }
    }
}
