import { createLogger } from '../../src/base/log.ts'

/** Errors alone, because tests cause warnings on purpose. A file of its own: most who log need no server. */
export const silentLog = createLogger({ level: 'error', format: 'json' })

/** For what strangers send: an error in the log is a fault of ours, and thrown. */
export const strictLog = createLogger({
  level: 'error',
  format: 'json',
  destination: {
    write: (line) => {
      throw new Error(line)
    },
  },
})
