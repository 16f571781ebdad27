/** The address of a path at a node. @param path with a slash at its begin; may have a query */
export const atNode = (nodeUrl: string, path: string): string => nodeUrl.replace(/\/$/, '') + path
