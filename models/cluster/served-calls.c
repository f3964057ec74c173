/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster-private.h"
#include "models/csi/modelled/modelled-driver.h"

/* A driver's controller that is a component: it gets the calls that sidecars make. */

void
cluster_serve_calls(Component *component, uint32_t methods, CsiServe serve)
{
    CsiModelledDriver *driver = csi_modelled_driver_cast(component->driver);

    if (driver != NULL)
        csi_modelled_driver_set_server(driver, methods, serve, component);
}

void
cluster_answer_call(const Component *component, CsiCallId id, const CsiResponse *response)
{
    CsiModelledDriver *driver = csi_modelled_driver_cast(component->driver);

    if (driver != NULL)
        csi_modelled_driver_answer(driver, id, response);
}
