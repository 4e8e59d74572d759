package reducer

const twoServices = `{"services":[{"serviceId":"1","clientId":"c","metadata":{"protocol":"p"}},{"serviceId":"2","clientId":"d","metadata":{}}]}`

var serviceRows = []row{
	{
		name:   "a service is added behind the others",
		given:  twoServices,
		action: `{"type":"clientService/set","service":{"serviceId":"3","clientId":"c","metadata":{"a":[1]},"unknownMember":1}}`,
		want:   `{"services":[{"serviceId":"1","clientId":"c","metadata":{"protocol":"p"}},{"serviceId":"2","clientId":"d","metadata":{}},{"serviceId":"3","clientId":"c","metadata":{"a":[1]},"unknownMember":1}]}`,
	},
	{
		name:   "a service is replaced in its place",
		given:  twoServices,
		action: `{"type":"clientService/set","service":{"serviceId":"1","clientId":"c","metadata":{"protocol":"q"}}}`,
		want:   `{"services":[{"serviceId":"1","clientId":"c","metadata":{"protocol":"q"}},{"serviceId":"2","clientId":"d","metadata":{}}]}`,
	},
	{
		name:   "a service is removed",
		given:  twoServices,
		action: `{"type":"clientService/removed","serviceId":"1"}`,
		want:   `{"services":[{"serviceId":"2","clientId":"d","metadata":{}}]}`,
	},
	{
		name:   "the last service leaves an empty list",
		given:  `{"services":[{"serviceId":"1","clientId":"c","metadata":{}}]}`,
		action: `{"type":"clientService/removed","serviceId":"1"}`,
		want:   `{"services":[]}`,
	},
	{name: "an unknown service is not removed", given: twoServices, action: `{"type":"clientService/removed","serviceId":"9"}`},
}
