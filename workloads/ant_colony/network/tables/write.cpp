// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <list>
#include <utility>

#include "ant_colony/network/tables/tables.hpp"
#include "ant_colony/network/tables/whole_file.hpp"

namespace network {
namespace {

/// The fewest digits that read back as the same number.
std::string digits(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string cell(const std::string& text) { return quoted(text); }
std::string cell(double value) { return digits(value); }

template <class... Cells>
void line(std::ostream& out, const Cells&... cells) {
  const char* separator = "";
  ((out << std::exchange(separator, ",") << cell(cells)), ...);
  out << '\n';
}

/// Files of one folder that get their names together, when all of them are written.
class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  template <class Rows, class WriteRow>
  void write(const char* name, const char* headings, const Rows& rows, WriteRow write_row) {
    WholeFile& whole = files_.emplace_back(path_ / name);
    whole.out() << headings << '\n';
    for (const auto& row : rows) write_row(whole.out(), row);
    whole.prepare();
  }

  void write(const char* name, const char* headings, const std::vector<Link>& links) {
    write(name, headings, links, [](auto& out, const Link& link) { line(out, link.warehouse, link.other); });
  }

  void commit() {
    for (WholeFile& each : files_) each.commit();
  }

 private:
  std::filesystem::path path_;
  std::list<WholeFile> files_;
};

}  // namespace

void write(const Tables& tables, const std::filesystem::path& folder) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault)
    throw driver::Error(folder.string(), "cannot be made: " + fault.message(), "give another folder");
  Folder made(folder);
  made.write("OrderList.csv",
             "Order ID,Order Date,Service Level,Customer,Product ID,Destination Port,Unit quantity,Weight",
             tables.orders, [](auto& out, const Order& one) {
               line(out, one.id, one.date, one.service, one.customer, one.product, one.destination, one.units,
                    one.weight);
             });
  made.write("FreightRates.csv",
             "Carrier,orig_port_cd,dest_port_cd,max_wgh_qty,svc_cd,minimum cost,rate,mode_dsc,tpt_day_cnt",
             tables.rates, [](auto& out, const Rate& one) {
               line(out, one.carrier, one.origin, one.destination, one.most_weight, one.service, one.minimum,
                    one.rate, one.mode, one.days);
             });
  made.write("WhCosts.csv", "WH,Cost/unit", tables.warehouses,
             [](auto& out, const Warehouse& one) { line(out, one.name, one.storage); });
  made.write("WhCapacities.csv", "Plant ID,Daily Capacity", tables.warehouses,
             [](auto& out, const Warehouse& one) { line(out, one.name, static_cast<double>(one.capacity)); });
  made.write("ProductsPerPlant.csv", "Plant Code,Product ID", tables.products);
  made.write("VmiCustomers.csv", "Plant Code,Customers", tables.customers);
  made.write("PlantPorts.csv", "Plant Code,Port", tables.ports);
  made.commit();
}

}  // namespace network
