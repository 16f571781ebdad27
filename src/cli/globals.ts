import { textFlag, toggleFlag } from './flag.ts'

/** What every command takes. `--help` is answered before a command runs. */
export const GLOBAL_FLAGS = {
  config: textFlag('FILE', 'The configuration file (else SLUICE_CONFIG, else ./config.yaml when it exists).'),
  data: textFlag('DIR', 'The data directory; stands above `data.dir` of the configuration.'),
  account: textFlag('ID', 'The account that is meant; needed only when there are several.'),
  json: toggleFlag('Print one JSON value on standard output and nothing else; errors become JSON on standard error.'),
  verbose: toggleFlag('Log more on standard error, and show where an error came from.'),
  help: toggleFlag('Show help, for Sluice, a group or a command.'),
} as const
