import { createLogger } from '../../src/base/log.ts'

/** Errors alone, because tests cause warnings on purpose. A file of its own: most who log need no server. */
export const silentLog = createLogger({ level: 'error', format: 'json' })
