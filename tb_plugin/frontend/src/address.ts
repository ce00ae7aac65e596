// Where the viewer's routes lie, and how they are asked.

/** Beside this module, whatever prefix or experiment path TensorBoard runs under. */
export function routeBase(moduleUrl: string): string {
  return moduleUrl.match(/^(.*\/data\/plugin\/[^/]+\/)/)?.[1] ?? new URL(".", moduleUrl).href;
}

let base = "";

export function setRouteBase(moduleUrl: string): void {
  base = routeBase(moduleUrl);
}

export type Params = Record<string, string | number | null | undefined>;

export function address(route: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value != null) query.set(key, String(value));
  const text = query.toString();
  return `${base}${route}${text && `?${text}`}`;
}

/** The browser asks whether what it has is still right; the server answers with its tag. */
export const ASKED: RequestInit = { cache: "no-cache" };
