/**
 * The part of our environment that a child process may need: paths of programs, libraries and temporary files, the
 * time zone, Node's compile cache, and the choice of a hardware driver. The rest stays here because it holds the sealing key and the database
 * password.
 */
const NEEDED = [
  'PATH',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'TMPDIR',
  'TZ',
  'NODE_COMPILE_CACHE',
  // Drivers of hardware encoders.
  'LIBVA_DRIVER_NAME',
  'LIBVA_DRIVERS_PATH',
  'CUDA_VISIBLE_DEVICES',
  // Windows cannot start a program without these.
  'SystemRoot',
  'windir',
  'ComSpec',
  'PATHEXT',
  'TEMP',
  'TMP',
] as const

/** The environment of a child process. */
export function childEnvironment(): Record<string, string> {
  const own = NEEDED.map((name) => [name, process.env[name]] as const)
  return Object.fromEntries(own.filter((one): one is [(typeof NEEDED)[number], string] => one[1] !== undefined))
}
