/** The sealing key of every server of a test, and of commands on its database. */
export const SEALING_KEY = Buffer.alloc(32, 7).toString('base64')
