/**
 * What a child process may need of our environment: where programs, their libraries and temporary files are, the time
 * zone, and where Node keeps compiled code. The rest stays here: it holds the sealing key and the database password.
 */
const NEEDED = [
  'PATH',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'TMPDIR',
  'TZ',
  'NODE_COMPILE_CACHE',
  // Windows starts no program without these.
  'SystemRoot',
  'windir',
  'ComSpec',
  'PATHEXT',
  'TEMP',
  'TMP',
] as const

/** The environment of a child process. @param own the environment of this process */
export function childEnvironment(own: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const given = NEEDED.map((name) => [name, own[name]] as const)
  return Object.fromEntries(given.filter((one): one is [(typeof NEEDED)[number], string] => one[1] !== undefined))
}
