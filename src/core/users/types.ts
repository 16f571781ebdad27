/** What a user may do in the dashboard: everything, or only look, without secrets. */
export const ROLES = ['admin', 'viewer'] as const

export type UserRole = (typeof ROLES)[number]
